"""What `s2s responses try` writes and says of one exchange."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from s2s_assets.audio import encode, from_pcm16, pcm16_sha256
from s2s_assets.drawing import png_width, svg_to_png
from s2s_assets.responses.attempts import event_log
from s2s_assets.responses.records import Outcome, Prompt
from s2s_assets.responses.timeline_chart import event_name, timeline_svg

_REPEATED = (
    *("input_audio_buffer.append", ".delta", "tts.chunk", "audioInput", "audioOutput"),
    *("audio", "modelTurn", "inputTranscription", "outputTranscription", "chat.completion.chunk"),
)


@dataclass(frozen=True)
class TrialFiles:
    """Paths of what an exchange left."""

    final_audio: Path | None
    provisional_audio: tuple[Path, ...]
    events: Path


def write_files(outcome: Outcome, folder: Path, prompt: Prompt, config: str) -> TrialFiles:
    """Write final audio (only of an answer), provisional audio, the event log, the request, and the timeline drawn."""
    folder.mkdir(parents=True, exist_ok=True)
    final = _write_wav(folder / "final.wav", outcome.pcm, outcome.rate_hz) if outcome.ok else None
    provisional = tuple(
        _write_wav(folder / f"provisional-{number}.wav", pcm, outcome.rate_hz)
        for number, pcm in enumerate(outcome.provisional, start=1)
    )
    events = folder / "events.jsonl.gz"
    events.write_bytes(event_log(outcome))
    (folder / "request.json").write_text(json.dumps(outcome.snapshot, ensure_ascii=False, indent=1), encoding="utf-8")
    svg = timeline_svg(outcome, prompt, config)
    (folder / "timeline.svg").write_text(svg, encoding="utf-8")
    (folder / "timeline.png").write_bytes(svg_to_png(svg, png_width(svg)))
    return TrialFiles(final, provisional, events)


def _write_wav(path: Path, pcm: bytes, rate_hz: int) -> Path:
    path.write_bytes(encode(from_pcm16(pcm, rate_hz), "wav", bits=16))
    return path


def document(config: str, attempts: Sequence[Outcome], files: TrialFiles, cost_usd: float | None) -> dict[str, Any]:
    """The JSON document of a trial: its last attempt, and what that cost."""
    last = attempts[-1]
    return {
        "config": config,
        "status": last.status,
        "origin": last.origin,
        "code": last.code,
        "message": last.message,
        "retryable": last.retryable,
        "attempts": len(attempts),
        "stage": last.stage,
        "final_audio": str(files.final_audio) if files.final_audio else None,
        "duration_s": last.duration_s,
        "sample_rate_hz": last.rate_hz,
        "pcm_sha256": pcm16_sha256(last.pcm) if last.ok else None,
        "provisional_audio": [str(path) for path in files.provisional_audio],
        "thinking": last.thinking,
        "input_transcript": last.input_transcript,
        "output_transcript": last.output_transcript,
        "usage": last.usage,
        "cost_usd": cost_usd,
        "model_reported": last.model_reported,
        "timings_ms": asdict(last.timings),
        "events": str(files.events),
    }


def timeline(outcome: Outcome) -> Iterator[str]:
    """A line an event, milestones among them; runs of audio and transcript chunks are one line."""
    lines = [(e["at_ms"], e["dir"], event_name(e["event"])) for e in outcome.events]
    marks = [(at, "*", name) for name, at in asdict(outcome.timings).items() if at is not None]
    run: list[tuple[float, str, str]] = []
    for line in sorted([*lines, *marks], key=lambda entry: entry[0]):
        if run and line[1:] == run[0][1:] and line[2].endswith(_REPEATED):
            run.append(line)
            continue
        yield from _told(run)
        run = [line]
    yield from _told(run)


def _told(run: Sequence[tuple[float, str, str]]) -> Iterator[str]:
    if run:
        at, direction, name = run[0]
        yield f"{at:9.1f} ms  {direction}  {name}" + (f"  ×{len(run)}, to {run[-1][0]:.1f} ms" if len(run) > 1 else "")
