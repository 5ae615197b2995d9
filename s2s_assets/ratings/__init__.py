"""The ratings database: handing out work, answers, import and export, cleaning, agreement."""
