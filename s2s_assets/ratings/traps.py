"""The study's traps as clips: read from its folder, as loud as everything else, and stored with the other audio."""

from s2s_assets.audio import decode, encode_flac, normalize, read_audio_file
from s2s_assets.ratings.shown import Clip
from s2s_assets.storage import StudyStore
from s2s_assets.study import AudioError, StudyError, StudyFolder


def trap_clips(folder: StudyFolder, store: StudyStore) -> tuple[Clip, ...]:
    """One clip a trap of `sessions.traps`, in their order.

    Raises:
        StudyError: a file is missing, or no audio that can be measured.
    """
    clips = []
    for trap in folder.study.sessions.traps:
        try:
            source = decode(read_audio_file(folder.root / trap.file), trap.file)
            clip = normalize(source, folder.study.audio.target_lufs, folder.study.audio.ceiling_dbtp).clip
        except AudioError as error:
            raise StudyError(f"sessions.traps: {trap.file}: {error}; name an audio file below {folder.root}") from error
        clips.append(Clip("second", store.put_blob(encode_flac(clip, 24), "flac"), clip.duration_s))
    return tuple(clips)
