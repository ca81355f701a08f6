"""Which collations there are, by name: those of Spark and of ICU."""

from __future__ import annotations

import re

_LOCALES = (
    "af|am|ar|as|az|be|bg|blo|bn|bo|br|bs|ca|ceb|chr|cs|cy|da|de|dsb|dz|ee|el|en|eo|es|et|fa|ff|fi|fil|fo|fr|fy|ga|gl|"
    "gu|ha|haw|he|hi|hr|hsb|hu|hy|id|ig|is|it|ja|ka|kk|kl|km|kn|ko|kok|ku|ky|lb|lij|lkt|ln|lo|lt|lv|mk|ml|mn|mr|ms|mt|"
    "my|nb|ne|nl|nn|no|nso|om|or|pa|pl|ps|pt|ro|ru|sa|se|si|sk|sl|smn|sq|sr|st|sv|sw|ta|te|th|tk|tn|to|tr|ug|uk|ur|uz|"
    "vi|wae|wo|xh|yi|yo|zh|zu"
)
_COLLATION = re.compile(rf"(UTF8_(BINARY|LCASE)|(UNICODE|{_LOCALES})(_C[IS])?(_A[IS])?)(_RTRIM)?", re.IGNORECASE)


def is_locale(name: str) -> bool:
    """Whether a language of ICU has the name, in any case."""
    return re.fullmatch(_LOCALES, name, re.IGNORECASE) is not None


def is_collation(name: str) -> bool:
    """Whether Spark has a collation of this name, in any case."""
    return _COLLATION.fullmatch(name) is not None
