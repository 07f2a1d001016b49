"""Parts of commands that no other entrance has: flags of their own, and files that these name."""
