"""The plan service: admission of requests, quick searches, answers by child processes, and the plan cache."""
