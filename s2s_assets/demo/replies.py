"""What the demo's systems say: rules over the words that were recognised.

An intent is chosen by how many of its keywords were heard; with none of them the reply repeats what was heard and asks.
The fuller reply goes further than the short one: it is what a higher thinking level buys here. Misheard prompts get
wrong answers, honestly.
"""

from dataclasses import dataclass

from s2s_assets.study import sha256_hex


@dataclass(frozen=True)
class Intent:
    """Keywords, and a short and a fuller reply."""

    keywords: frozenset[str]
    short: str
    full: str


def _intent(keywords: str, short: str, full: str) -> Intent:
    return Intent(frozenset(keywords.split()), short, full)


INTENTS = (
    _intent(
        "wrong terribly bad trouble broken emergency",
        "Oh no. What happened?",
        "Oh no, that sounds serious. First of all, are you safe? Tell me what you see, and we will take it one step "
        "at a time.",
    ),
    _intent(
        "phone system eaten weasels weasel telephone",
        "That is not good. I would call a repair service.",
        "Weasels, of all things! Keep everybody away from the cables, switch the system off, and use a mobile phone "
        "until an electrician has looked at the damage.",
    ),
    _intent(
        "enter number starting area code",
        "I do not have a phone number.",
        "I do not have a phone number of my own. If you tell me yours, I can read it back to you with the area code "
        "first.",
    ),
    _intent(
        "currently one other participant conference friends",
        "So there are two of you.",
        "One other participant, and you: so there are two of you in the conference. Shall we wait for more people, or "
        "start now?",
    ),
    _intent(
        "pin can invalid valid conference",
        "Then please try another pin.",
        "The pin was refused. Check that you have the right conference, then type the pin again slowly. If it fails "
        "once more, ask the host for a new one.",
    ),
    _intent(
        "tone say name please",
        "I am a demo voice.",
        "Beep. My name is Demo. I am a small local system, and it is nice to meet you.",
    ),
    _intent(
        "sorry matches keywords match search",
        "Try other words.",
        "That is a pity. Try fewer and more general keywords, or check how they are spelled. Tell me what you are "
        "looking for, and I will suggest some.",
    ),
    _intent(
        "dialed service number check again",
        "I will check the number.",
        "The number is not in service, so I must have a digit wrong. I will look it up again, compare it digit by "
        "digit, and then call once more.",
    ),
    _intent(
        "monkeys carried away they",
        "Monkeys? Really?",
        "Carried away by monkeys! Then here is how the story goes on: at sunset the monkeys grew tired, put everybody "
        "down on a soft hill, and asked for bananas.",
    ),
    _intent(
        "young man disposed blows",
        "So he was rather kind.",
        "The sentence uses two negatives: not ill disposed means that he was quite well meaning. The writer praises "
        "him, but only a little.",
    ),
    _intent(
        "conference begin begins leader arrives start",
        "All right, I will wait.",
        "All right. The conference starts when the leader arrives. I will wait, and until then we can go through the "
        "agenda.",
    ),
    _intent(
        "thank thanks you patience patients",
        "You are welcome.",
        "You are very welcome. I am glad to wait, and I hope the rest of your day is easy.",
    ),
)

IGNORING = (
    "The museum opens at ten in the morning and closes at six.",
    "Bananas are rich in potassium, as many people know.",
    "Tomorrow will be partly cloudy with a light wind from the west.",
    "You can change your settings at any time in the main menu.",
    "A fortnight has fourteen days, which is two weeks.",
)

COMMENTARY = "Let me think."


def reply_to(heard: str, *, full: bool) -> str:
    """A reply to the words that were recognised."""
    words = set(heard.lower().split())
    best = max(INTENTS, key=lambda intent: len(intent.keywords & words))
    if best.keywords & words:
        return best.full if full else best.short
    if not words:
        return "I did not hear anything. Could you say that again?"
    return f"I heard: {heard}. What would you like me to do?" if full else "Could you say that again?"


def ignoring_reply(heard: str) -> str:
    """A clearly spoken sentence that has nothing to do with what was said; the same for the same words."""
    return IGNORING[int(sha256_hex(heard)[:8], 16) % len(IGNORING)]
