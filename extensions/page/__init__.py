"""The HTML page that shows plans: as one file, as a cell of a notebook, and as a page of the service."""
