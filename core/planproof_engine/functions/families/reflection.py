"""Methods of Java that a query calls by their names: `reflect`, `java_method`, `try_reflect`.

Source: `CallMethodViaReflection`. Which classes there are only a class path can tell, but for those of Java itself.
"""

from __future__ import annotations

import re

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, Args, Coerce, Many, Mismatch
from planproof_engine.expr.traits import VOLATILE
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import Table, fn, lines
from planproof_engine.functions.families.rules import is_foldable
from planproof_engine.origin import Unknown
from planproof_engine.types.kinds import ANY

_LETTERS: dict[dt.DataType, str] = {dt.BOOLEAN: "Z", dt.BYTE: "B", dt.SHORT: "S", dt.INT: "I", dt.LONG: "J", dt.FLOAT: "F", dt.DOUBLE: "D"}
"""What a method can take beside strings (`CallMethodViaReflection.typeMapping`), by the letters of Java's descriptors."""

_METHODS = {
    "java.lang.Boolean": """compare:ZZ getBoolean:T hashCode:Z logicalAnd:ZZ logicalOr:ZZ logicalXor:ZZ parseBoolean:T
        toString:Z valueOf:T,Z""",
    "java.lang.Double": """compare:DD doubleToLongBits:D doubleToRawLongBits:D hashCode:D isFinite:D isInfinite:D isNaN:D
        longBitsToDouble:J max:DD min:DD parseDouble:T sum:DD toHexString:D toString:D valueOf:D,T""",
    "java.lang.Integer": """bitCount:I compare:II compareUnsigned:II decode:T divideUnsigned:II getInteger:T,TI hashCode:I
        highestOneBit:I lowestOneBit:I max:II min:II numberOfLeadingZeros:I numberOfTrailingZeros:I
        parseInt:CIII,T,TI parseUnsignedInt:CIII,T,TI remainderUnsigned:II reverse:I reverseBytes:I
        rotateLeft:II rotateRight:II signum:I sum:II toBinaryString:I toHexString:I toOctalString:I
        toString:I,II toUnsignedLong:I toUnsignedString:I,II valueOf:I,T,TI""",
    "java.lang.Long": """bitCount:J compare:JJ compareUnsigned:JJ decode:T divideUnsigned:JJ getLong:T,TJ hashCode:J
        highestOneBit:J lowestOneBit:J max:JJ min:JJ numberOfLeadingZeros:J numberOfTrailingZeros:J
        parseLong:CIII,T,TI parseUnsignedLong:CIII,T,TI remainderUnsigned:JJ reverse:J reverseBytes:J
        rotateLeft:JI rotateRight:JI signum:J sum:JJ toBinaryString:J toHexString:J toOctalString:J
        toString:J,JI toUnsignedString:J,JI valueOf:J,T,TI""",
    "java.lang.Math": """IEEEremainder:DD abs:D,F,I,J absExact:I,J acos:D addExact:II,JJ asin:D atan:D atan2:DD cbrt:D ceil:D
        copySign:DD,FF cos:D cosh:D decrementExact:I,J exp:D expm1:D floor:D floorDiv:II,JI,JJ
        floorMod:II,JI,JJ fma:DDD,FFF getExponent:D,F hypot:DD incrementExact:I,J log:D log10:D log1p:D
        max:DD,FF,II,JJ min:DD,FF,II,JJ multiplyExact:II,JI,JJ multiplyFull:II multiplyHigh:JJ
        negateExact:I,J nextAfter:DD,FD nextDown:D,F nextUp:D,F pow:DD random: rint:D round:D,F scalb:DI,FI
        signum:D,F sin:D sinh:D sqrt:D subtractExact:II,JJ tan:D tanh:D toDegrees:D toIntExact:J toRadians:D
        ulp:D,F""",
    "java.lang.Object": "",
    "java.lang.String": """valueOf:D,F,I,J,O,Z""",
    "java.lang.System": """arraycopy:OIOII clearProperty:T console: currentTimeMillis: exit:I gc: getLogger:T getProperties:
        getProperty:T,TT getSecurityManager: getenv:,T identityHashCode:O inheritedChannel: lineSeparator:
        load:T loadLibrary:T mapLibraryName:T nanoTime: runFinalization: setProperty:TT""",
    "java.net.URLDecoder": """decode:T,TT""",
    "java.net.URLEncoder": """encode:T,TT""",
    "java.util.UUID": """fromString:T randomUUID:""",
}
"""The static methods of some of Java's classes that take such values only, each with the lists of its parameters: `T` is
a string, `C` a sequence of characters, `O` any object."""

_YOUNGER = frozenset(["ceilDiv", "ceilDivExact", "ceilMod", "clamp", "compress", "divideExact", "expand", "floorDivExact"])
"""Methods that some of these classes have since a Java after 17."""

_PACKAGES = re.compile(
    r"java\.(applet|awt|beans|io|lang|math|net|nio|rmi|security|sql|text|time|util)\.|(?!java\.)"
)
"""Where a class may be: Java alone may add one to its own packages (`ClassLoader.defineClass`)."""


def _takes(parameters: str, given: str) -> bool:
    fits = (p == g or p == "O" or (p == "C" and g == "T") for p, g in zip(parameters, given))
    return len(parameters) == len(given) and all(fits)


def _check(args: Args, conf: Conf) -> Mismatch | None:
    """`CallMethodViaReflection.checkInputDataTypes`: class and method are constant strings."""
    if not all(dt.is_string(a.type) and is_foldable(a) for a in args[:2]):
        return Mismatch("NON_FOLDABLE_INPUT", "the class and the method must be constant strings.")
    named = (constant(args[0], "reflect"), constant(args[1], "reflect"))
    if None in named:
        return Mismatch("UNEXPECTED_NULL", "the class and the method must not be NULL.")
    letters = ["T" if dt.is_string(a.type) else _LETTERS.get(a.type) for a in args[2:]]
    strange = next((a.type for a, letter in zip(args[2:], letters) if letter is None), None)
    if strange is not None:
        return Mismatch("UNEXPECTED_INPUT_TYPE", f'a method takes booleans, numbers and strings, not "{strange.sql}".')
    return _find_method(*named, "".join(letter for letter in letters if letter))


def _find_method(owner: str, method: str, given: str) -> Mismatch | None:
    """Why Java has no such method. Raises `Unknown` where only a class path can tell."""
    if owner not in _METHODS:
        if _PACKAGES.match(owner):
            raise Unknown("a Java method by reflection")
        return Mismatch("UNEXPECTED_CLASS_TYPE", f"class {owner} not found.")
    known = dict(entry.split(":") for entry in _METHODS[owner].split())
    if any(_takes(parameters, given) for parameters in known.get(method, "-").split(",")):
        return None
    if method in _YOUNGER:
        raise Unknown("a Java method by reflection")
    return Mismatch("UNEXPECTED_STATIC_METHOD", f"cannot find a static method {method} of these types in {owner}.")


def _reflection(names: str) -> Table:
    inputs = (ANY, ANY, Many(ANY))
    return fn(names, inputs, dt.STRING, ALWAYS, coerce=Coerce.NONE, check=_check, alias=True, traits=VOLATILE, foldable=False)


TABLE: Table = lines(_reflection("java_method reflect"), _reflection("try_reflect"))
