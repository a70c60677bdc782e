# Nothing: the tests know the folder.
