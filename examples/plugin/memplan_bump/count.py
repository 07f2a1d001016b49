"""The question `count`: how many buffers a problem has, in total and of each size."""

from pydantic import Field

from memplan.questions.question import Answer, Question, QuestionOptions, ChartView, Control
from memplan.questions.inputs import PROBLEM
from memplan.planner.model.problem import Problem


class CountOptions(QuestionOptions):
    """Options of the question `count`."""

    least: int = Field(0, ge=0, description="Count buffers of at least so many bytes.")


class Count(Answer):
    """The total number of buffers, and the number of buffers of each size."""

    buffers: int
    points: list[dict[str, int]]


def count(problem: Problem, options: CountOptions = CountOptions(), control: Control = Control()) -> Count:
    """Count the problem's buffers of at least `options.least` bytes."""
    sizes = [size for size in problem.buffers.size.tolist() if size >= options.least]
    return Count(buffers=len(sizes), points=[{"size": each, "buffers": sizes.count(each)} for each in sorted({*sizes})])


QUESTION = Question(
    count,
    inputs=(PROBLEM,),
    lines=lambda answer: [f"{answer.buffers} buffers"],
    view=ChartView("size", "buffers", ("size", "buffers"), ("bytes", "number")),
    example={"problem": {"buffers": [{"id": 0, "size": 8, "start": 0, "end": 2}]}},
)
