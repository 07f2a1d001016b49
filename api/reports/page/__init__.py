"""The page that shows plans: its document, its modules, and one file with both."""
