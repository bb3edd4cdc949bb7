from __future__ import annotations

from types import SimpleNamespace

import pytest

from bench.kernels import VOCABULARY, by_kernel, main, texts


def test_kernel_times_are_summed_by_name_per_step() -> None:
    events = [
        SimpleNamespace(name=name, device_time_total=taken) for name, taken in [("mm", 4), ("norm", 5), ("mm", 8)]
    ]
    assert by_kernel(events, steps=2) == [("mm", 1.0, 6.0), ("norm", 0.5, 2.5)]


def test_texts_have_words_that_the_encoder_knows_and_the_length_that_was_asked_for() -> None:
    found = texts(2000, 26)
    assert found.flat.max() < VOCABULARY
    assert len(found.flat) / len(found) == pytest.approx(26, abs=1.5)


@pytest.mark.gpu
def test_a_step_is_divided_into_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--size", "tiny"])
    lines = capsys.readouterr().out.splitlines()
    assert "µs a step by the clock" in lines[0]
    assert any("_step_words" in line for line in lines[1:])
