"""Commands that write a problem in forms that are no answer."""
