"""The page that shows plans: its HTML document, its JavaScript modules, and single files with both."""
