"""Server settings and call options: their sources, defaults, and errors for wrong values."""

import re
from pathlib import Path

import pytest

from memplan.api.options import Options
from memplan.api.settings import PREFIX, Settings, read_settings, unknown_names
from memplan.planner.errors import OptionError

OPERATIONS = (Path(__file__).resolve().parents[2] / "docs" / "operations.md").read_text()
ROWS = dict(re.findall(r"^\| `MEMPLAN_([A-Z_]+)` \| [^|]+ \| ([^|]+) \|$", OPERATIONS, re.MULTILINE))


def test_unknown_memplan_environment_variables_are_reported() -> None:
    names = ("MEMPLAN_WORKRES", "MEMPLAN_WORKERS", "MEMPLAN_KEY", "MEMPLAN_PORT_80_TCP", "MEMPLAN_SERVICE_HOST", "PATH")
    assert unknown_names(dict.fromkeys(names, "")) == ["MEMPLAN_WORKRES"]


def test_the_operations_page_lists_every_setting_in_order() -> None:
    assert [name.lower() for name in ROWS] == list(Settings.model_fields)


def test_the_operations_page_states_the_default_of_every_setting() -> None:
    for name, field in Settings.model_fields.items():
        if field.default is not None and field.default_factory is None:
            said = ROWS[name.upper()]
            if isinstance(field.default, bool):
                assert said == str(field.default).lower(), name
            elif isinstance(field.default, str):
                assert said == field.default, name
            else:
                assert float(said) == field.default, name


def test_an_empty_environment_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMPLAN_DATABASE_URL", "")
    monkeypatch.setenv("MEMPLAN_WORKERS", "")
    assert read_settings().database_url is None


def test_the_default_data_folder_follows_xdg_data_home_or_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MEMPLAN_DATA_FOLDER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert read_settings().data_folder == tmp_path / "memplan"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_settings().data_folder == tmp_path / ".local" / "share" / "memplan"


def test_a_user_without_a_home_is_advised_to_name_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMPLAN_DATA_FOLDER", "~nobody-of-that-name/memplan")
    with pytest.raises(OptionError, match=r"^MEMPLAN_DATA_FOLDER: must be a folder without ~, because there is"):
        read_settings()


SECRET = "hunter2-and-" + "more" * 8
OTHER_DATABASE = 'must begin with sqlite:// or postgresql://, got "mysql://..."'
WRONG_URL = "must be postgresql://USER:PASSWORD@HOST:PORT/NAME, percent-encoded"


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("DATABASE_URL", f"mysql://me:{SECRET}@here/x", OTHER_DATABASE),
        ("DATABASE_URL", f"postgresql://me:{SECRET}@here:port/x", WRONG_URL),
        ("ADMIN_KEY", "hunter2", "must be at least 32 visible ASCII characters"),
        ("LOG_FORMAT", "xml", "must be 'text' or 'json', got \"xml\""),
        ("WORKERS", "-1", 'must be at least 0, got "-1"'),
        ("REQUIRE_KEYS", "perhaps", 'must be true or false, got "perhaps"'),
        ("JOB_KEPT_S", "0", 'must be greater than 0.0, got "0"'),
    ],
)
def test_a_wrong_setting_tells_no_secrets(name: str, value: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIX + name, value)
    with pytest.raises(OptionError) as caught:
        read_settings()
    assert caught.value.sentences == (f"{PREFIX}{name}: {rule}",)


def test_printed_settings_hide_secrets() -> None:
    settings = Settings(admin_key=SECRET, database_url=f"postgresql://me:{SECRET}@here/x")
    assert SECRET not in repr(settings)
    assert SECRET not in str(settings)


@pytest.mark.parametrize(
    ("said", "kept"),
    [("fit", "fit"), ("5%", "5%"), ("2.5", "2.5"), (5, 5.0), ("1e1", "10.0%"), ("1.5e1%", "15.0%"), (None, None)],
)
def test_the_option_accept_is_normalised_as_in_the_schema(said: object, kept: object) -> None:
    assert Options.model_validate({"accept": said}).accept == kept
