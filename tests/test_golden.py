"""Every id has a readable playthrough that today's code repeats line by line."""

import pytest

import flinchenv
from golden import playthrough


@pytest.mark.parametrize("name", playthrough.CASES)
def test_the_game_repeats_its_playthrough(name):
    expected = playthrough.file_of(name).read_text().splitlines()
    assert playthrough.playthrough(name).splitlines() == expected


def test_every_id_and_no_other_has_a_playthrough():
    assert set(flinchenv.list_envs()) <= {id for id, _ in playthrough.CASES.values()}
    files = {f.name for f in playthrough.FOLDER.glob("*.txt")}
    assert files == {playthrough.file_of(name).name for name in playthrough.CASES}


def test_the_id_carries_the_version_of_its_game():
    for id in flinchenv.list_envs():
        spec = flinchenv.spec(id)
        assert spec.version == spec.game_spec.version


def test_a_changed_result_is_refused_without_a_new_version(monkeypatch, tmp_path):
    monkeypatch.setattr(playthrough, "FOLDER", tmp_path)
    playthrough.main()
    file = playthrough.file_of("flip_it-tiny-v0")
    good = file.read_text()
    file.write_text(good.replace("guess", "gness"))
    with pytest.raises(SystemExit, match="flip_it-tiny"):
        playthrough.main()
    assert "gness" in file.read_text()
