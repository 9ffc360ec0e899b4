"""pellucid.Profile: what ran, by op, kernel and line of Python."""
import json
import pathlib

import pellucid
import pytest


def line_of(text):
    lines = pathlib.Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.strip() == text)


@pytest.fixture
def profile():
    x = pellucid.ones(64, 64)
    with pellucid.Profile() as profile:
        for step in range(3):
            with pellucid.Range(f"ProfilerStep#{step}"):
                product = x @ x
                pellucid.gelu(product + 1)
    return profile


def test_rows_are_those_of_ops_kernels_and_lines_of_python(profile):
    ops = {row.name: row for row in profile.rows()}
    assert ops["gelu"].calls == 3 and ops["gelu"].own_kernels == 3 and ops["gelu"].self_ns > 0
    assert ops["mm"].flops == 3 * 2 * 64**3 and ops["mm"].bytes == 3 * 3 * 4 * 64**2
    lines = {row.name.rsplit("/", 1)[-1]: row for row in profile.rows("line")}
    first, second = line_of("product = x @ x"), line_of("pellucid.gelu(product + 1)")
    assert set(lines) == {f"test_profile.py:{first}", f"test_profile.py:{second}"}
    assert lines[f"test_profile.py:{second}"].calls == 6 and lines[f"test_profile.py:{first}"].kernels == 3
    kernels = profile.rows("kernel")
    assert sum(row.calls for row in kernels) == 9 and any("gelu" in row.name for row in kernels)
    assert profile.rows("module") == []


def test_tables_are_text_and_a_notebook_shows_them(profile):
    assert str(profile) == profile.table() == profile.table("op")
    assert "gelu" in profile.table() and "test_profile.py" in profile.table("line")
    assert "and 2 more" in profile.table(max_rows=len(profile.rows()) - 2)
    page = profile._repr_html_()
    assert page.count("<table>") == 3 and f"test_profile.py:{line_of('product = x @ x')}" in page
    assert repr(profile).startswith("<pellucid.Profile of ")


def test_a_trace_has_the_lines_and_the_doctor_reads_it(profile, tmp_path):
    path = tmp_path / "run.json"
    profile.write_trace(path)
    ops = [event for event in json.loads(path.read_text())["traceEvents"] if event.get("name") == "gelu"]
    assert f"test_profile.py:{line_of('pellucid.gelu(product + 1)')}" in json.dumps(ops)
    diagnosis = pellucid.doctor(profile, expect="kernels == 9; gemm == 3; step.kernels == 3")
    assert diagnosis.holds, diagnosis
    assert diagnosis.totals == pellucid.doctor(path).totals


def test_a_profile_may_be_used_again_and_one_at_a_time():
    profile = pellucid.Profile(shapes=False, memory=True)
    with pytest.raises(RuntimeError, match="recorded nothing yet"):
        profile.table()
    assert "not recorded" in repr(profile) and "not recorded" in profile._repr_html_()
    for count in (1, 2):
        with profile:
            for _ in range(count):
                pellucid.ones(4)
        assert {row.name: row.calls for row in profile.rows()}["ones"] == count
        assert profile.duration_ns > 0 and profile.dropped == 0
    with profile:
        with pytest.raises(pellucid.Error, match="another Profile is recording"):
            with pellucid.Profile():
                pass


def test_errors_say_what_would_be_right(profile, tmp_path):
    with pytest.raises(ValueError, match="by op, kernel, line, module and wait, not by 'site'"):
        profile.rows("site")
    with pytest.raises(pellucid.Error) as refused:
        profile.write_trace(tmp_path / "nowhere" / "run.json")
    assert refused.value.code == "E12"


def test_the_profile_ends_with_its_block_also_after_an_error():
    profile = pellucid.Profile()
    with pytest.raises(KeyError):
        with profile:
            raise KeyError
    pellucid.ones(3)
    assert profile.rows() == []
