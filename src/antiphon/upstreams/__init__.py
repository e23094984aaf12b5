"""Places that answer: the catalog of vendors as rows, one client for all of them, and the shipped fake."""
