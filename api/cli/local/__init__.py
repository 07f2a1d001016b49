"""What commands of capabilities have that no other entrance has: flags of their own, and files that these name."""
