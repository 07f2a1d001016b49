"""Questions about changed problems: parts of a problem, problems with fewer rules, and whether they fit."""
