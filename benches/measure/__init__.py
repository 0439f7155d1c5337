"""What is measured, one file a subject; each has `rows`, which gives the lines of a table."""
