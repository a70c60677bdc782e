"""What an installation is made of: where each part is reached, where files are kept, and the file that says so."""
