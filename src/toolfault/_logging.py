"""
The one place that writes to the logger ``toolfault``. Logging never costs an answer.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any, Final


class SafeLogger:
    """
    A logger that drops whatever filters, formatters and handlers raise.

    Templates are constant, so that error trackers can group by them; arguments are texts that are
    safe to log. Methods raise KeyboardInterrupt if a signal arrives meanwhile, and nothing else.
    """

    def __init__(self, logger: logging.Logger) -> None:
        """
        Wrap a logger.
        """
        self._logger = logger

    def is_enabled_for(self, level: int) -> bool:
        """
        Tell whether records of a level are written at all.
        """
        return self._logger.isEnabledFor(level)

    def info(self, template: str, *args: object) -> None:
        """
        Write a record at INFO.
        """
        self.write(logging.INFO, template, args)

    def warning(self, template: str, *args: object) -> None:
        """
        Write a record at WARNING.
        """
        self.write(logging.WARNING, template, args)

    def error(self, template: str, *args: object) -> None:
        """
        Write a record at ERROR.
        """
        self.write(logging.ERROR, template, args)

    def write(
        self,
        level: int,
        template: str,
        args: tuple[object, ...],
        *,
        exc: BaseException | None = None,
        text: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Write a record.

        Args:
            level: As in `logging`.
            template: The message, with a ``%s`` for each of the arguments.
            args: The arguments.
            exc: The exception for the record's ``exc_info``.
            text: What formatters append in place of the formatted *exc*. None: they format it.
            extra: Attributes of the record.
        """
        try:
            if not self._logger.isEnabledFor(level):
                return
            # Logger.findCaller would compare the path of each frame with logging's own.
            caller = sys._getframe(2)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- as logging itself does
            exc_info = None if exc is None else (type(exc), exc, _traceback_of(exc))
            record = self._logger.makeRecord(
                self._logger.name,
                level,
                caller.f_code.co_filename,
                caller.f_lineno,
                template,
                args,
                exc_info,
                caller.f_code.co_name,
                extra,
            )
            record.exc_text = text
            self._logger.handle(record)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001, S110 -- there is no other place to report it
            pass


# Not exc.__traceback__, which a class may override.
_traceback_of: Final = BaseException.__dict__["__traceback__"].__get__

log: Final = SafeLogger(logging.getLogger("toolfault"))
