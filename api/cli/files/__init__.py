"""Commands that write a problem or a plan in other forms."""
