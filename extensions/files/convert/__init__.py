"""The question `convert`, which writes problems, models and plans in other formats."""
