"""The question `convert`: write problems, models and plans in other formats."""
