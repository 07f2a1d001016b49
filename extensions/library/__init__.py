"""The library of problems: checked facts about each problem, submissions of better plans, and runs of any planner."""
