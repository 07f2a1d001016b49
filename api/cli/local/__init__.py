"""Parts of commands that no other entrance has: their own flags, and the files named by them."""
