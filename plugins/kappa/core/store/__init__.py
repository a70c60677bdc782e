"""Where shared files lie: a folder or a bucket, behind one type of location."""
