"""
The books of Leaf & Ledger: teas, customers and orders in one SQLite file.

The database is made anew in the folder that it is given, always with the same rows. What may not
happen is written into its schema, so a wrong order is refused by SQLite itself.
"""

from __future__ import annotations

import difflib
import random
import sqlite3
import threading
from contextlib import closing, contextmanager
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import BaseModel


if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


Kind: TypeAlias = Literal["green", "black", "oolong", "white", "dark", "herbal"]
Subject: TypeAlias = Literal["stock", "orders", "customers"]

#: Seconds that a statement waits for another connection to finish.
BUSY_SECONDS: Final = 0.1

#: What one cup takes.
GRAMS_PER_CUP: Final = 3

SCHEMA: Final = """
PRAGMA journal_mode = WAL;

CREATE TABLE teas (
    sku         TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    kind        TEXT NOT NULL
                CHECK (kind IN ('green', 'black', 'oolong', 'white', 'dark', 'herbal')),
    origin      TEXT NOT NULL,
    grams       INTEGER NOT NULL CHECK (grams > 0),
    price_cents INTEGER NOT NULL CHECK (price_cents > 0),
    stock       INTEGER NOT NULL CONSTRAINT enough_in_stock CHECK (stock >= 0)
);

CREATE TABLE customers (
    id      INTEGER PRIMARY KEY,
    name    TEXT NOT NULL,
    email   TEXT NOT NULL UNIQUE,
    country TEXT NOT NULL,
    since   TEXT NOT NULL
);

CREATE TABLE orders (
    reference   TEXT PRIMARY KEY,
    customer    INTEGER NOT NULL REFERENCES customers (id),
    sku         TEXT NOT NULL REFERENCES teas (sku),
    quantity    INTEGER NOT NULL CHECK (quantity > 0),
    total_cents INTEGER NOT NULL,
    placed_on   TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('placed', 'packed', 'shipped', 'delivered'))
);
"""

TEAS: Final[tuple[tuple[str, str, Kind, str, int], ...]] = (
    # sku, name, kind, origin, cents for 100 g
    ("SEN", "Sencha Yabukita", "green", "Japan", 1290),
    ("GYO", "Gyokuro Uji", "green", "Japan", 4890),
    ("GEN", "Genmaicha", "green", "Japan", 990),
    ("LJG", "Longjing Spring", "green", "China", 2450),
    ("BLC", "Biluochun", "green", "China", 2190),
    ("GPW", "Gunpowder Temple", "green", "China", 790),
    ("DJF", "Darjeeling First Flush", "black", "India", 2650),
    ("DJS", "Darjeeling Second Flush", "black", "India", 1990),
    ("ASM", "Assam Mokalbari", "black", "India", 1150),
    ("NIL", "Nilgiri Frost", "black", "India", 1390),
    ("CEY", "Ceylon Nuwara Eliya", "black", "Sri Lanka", 1090),
    ("KEE", "Keemun Hao Ya", "black", "China", 1890),
    ("LAP", "Lapsang Souchong", "black", "China", 1590),
    ("KEN", "Kenya Kangaita", "black", "Kenya", 850),
    ("TGY", "Tieguanyin", "oolong", "China", 1790),
    ("DHP", "Da Hong Pao", "oolong", "China", 3490),
    ("DDG", "Dong Ding", "oolong", "Taiwan", 2290),
    ("OBE", "Oriental Beauty", "oolong", "Taiwan", 3990),
    ("SNE", "Silver Needle", "white", "China", 3790),
    ("WPE", "White Peony", "white", "China", 1490),
    ("SHU", "Shu Pu-erh 2014", "dark", "China", 1690),
    ("SHE", "Sheng Pu-erh 2009", "dark", "China", 4290),
    ("ROO", "Rooibos Cederberg", "herbal", "South Africa", 690),
    ("CHM", "Chamomile Whole", "herbal", "Egypt", 590),
)
GRAMS: Final = (2, 50, 100, 250)  # two grams: the tasting sachet that goes into every parcel

FIRST: Final = (
    "Ada Bram Chiara Dmitri Elin Farah Goran Hana Ivo Jun Katya Lars Mei Noor Otto".split()
)
LAST: Final = ("Aalto", "Brandt", "Castelli", "de Wit", "Eriksen", "Fontaine", "Greco", "Haddad")
COUNTRIES: Final = ("NL", "DE", "FR", "IT", "NO", "GB", "US", "JP")
STATUSES: Final = ("packed", "shipped", "delivered", "delivered")


class Tea(BaseModel):
    """
    One article: a tea in one size.
    """

    sku: str
    name: str
    kind: Kind
    origin: str
    grams: int
    price_cents: int
    stock: int


class Order(BaseModel):
    """
    One order.
    """

    reference: str
    customer: int
    sku: str
    quantity: int
    total_cents: int
    placed_on: str
    status: str


class Shop:
    """
    The books in one folder.

    Every method opens a connection of its own, so any thread may call it.
    """

    def __init__(self, folder: Path) -> None:
        """
        Make the database in this folder.
        """
        self._file = folder / "ledger.sqlite3"
        self._stocktaking: sqlite3.Connection | None = None
        self._hand = threading.Lock()  # one at a time opens or closes the stocktaking
        with closing(sqlite3.connect(self._file)) as db, db:
            db.executescript(SCHEMA)
            _fill(db, random.Random(1664))  # noqa: S311 -- made-up rows, the same on every run

    @contextmanager
    def _books(self) -> Generator[sqlite3.Connection]:
        """
        Open the books; what was written stays only if the block ends well.
        """
        with closing(sqlite3.connect(self._file, timeout=BUSY_SECONDS)) as db, db:
            db.row_factory = sqlite3.Row
            db.execute("PRAGMA foreign_keys = ON")
            yield db

    def search(self, text: str = "", kind: Kind | None = None, limit: int = 1000) -> list[Tea]:
        """
        Return the articles with this text in name or origin, cheapest first.
        """
        with self._books() as db:
            rows = db.execute(
                "SELECT * FROM teas"
                " WHERE (name || ' ' || origin) LIKE ? AND kind = coalesce(?, kind)"
                " ORDER BY price_cents, sku LIMIT ?",
                (f"%{text}%", kind, limit),
            ).fetchall()
        return [Tea(**dict(row)) for row in rows]

    def tea(self, sku: str) -> Tea:
        """
        Return the article with this number.

        Raises:
            ValueError: There is none.
        """
        with self._books() as db:
            row = db.execute("SELECT * FROM teas WHERE sku = ?", (sku,)).fetchone()
            if row is None:
                known = [known for (known,) in db.execute("SELECT sku FROM teas")]
                near = difflib.get_close_matches(sku, known, n=3, cutoff=0.4)
                advice = (
                    f"did you mean {', '.join(near)}?" if near else "search the catalogue first"
                )
                raise ValueError(f"unknown tea {sku!r}; {advice}")
        return Tea(**dict(row))

    def price_per_cup_cents(self, sku: str) -> int:
        """
        Return what one cup costs.

        The bug of this shop: a tasting sachet holds less than a cup takes, and `cups` is 0.
        """
        tea = self.tea(sku)
        cups = tea.grams // GRAMS_PER_CUP
        return round(tea.price_cents / cups)

    def place_order(self, reference: str, customer: int, sku: str, quantity: int) -> Order:
        """
        Write an order into the books and take it out of stock.

        Raises:
            sqlite3.IntegrityError: The reference is taken, the customer unknown, or the stock too
            small. sqlite3.OperationalError: Somebody else is writing, as during stocktaking.
            ValueError: There is no such tea.
        """
        total = self.tea(sku).price_cents * quantity
        today = date.today().isoformat()  # noqa: DTZ011 -- the shop's own day
        order = Order(
            reference=reference,
            customer=customer,
            sku=sku,
            quantity=quantity,
            total_cents=total,
            placed_on=today,
            status="placed",
        )
        with self._books() as db:
            db.execute(_INSERT_ORDER, order.model_dump())
            db.execute("UPDATE teas SET stock = stock - ? WHERE sku = ?", (quantity, sku))
        return order

    def order(self, reference: str) -> Order:
        """
        Return the order with this reference.

        Raises:
            LookupError: There is none.
        """
        with self._books() as db:
            row = db.execute("SELECT * FROM orders WHERE reference = ?", (reference,)).fetchone()
        if row is None:
            raise LookupError(
                f"no order has the reference {reference!r}; references look like LL-2026-0001"
            )
        return Order(**dict(row))

    def report(self, subject: Subject) -> tuple[list[str], list[tuple[object, ...]]]:
        """
        Return the headings and rows of a report.
        """
        statement = {
            "stock": "SELECT kind, count(*) AS articles, sum(stock) AS pieces FROM teas"
            " GROUP BY kind ORDER BY kind",
            "orders": "SELECT status, count(*) AS orders, sum(total_cents) AS cents FROM orders"
            " GROUP BY status",
            "customers": "SELECT country, count(*) AS customers FROM customers"
            " GROUP BY country ORDER BY country",
        }[subject]
        with self._books() as db:
            cursor = db.execute(statement)
            return [column[0] for column in cursor.description], [tuple(row) for row in cursor]

    def open_stocktaking(self) -> None:
        """
        Hold an exclusive transaction until `close_stocktaking`: others can only read.
        """
        with self._hand:
            if self._stocktaking is None:
                db = sqlite3.connect(
                    self._file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
                )
                try:
                    db.execute("BEGIN EXCLUSIVE")
                except sqlite3.OperationalError:
                    db.close()
                    raise
                self._stocktaking = db

    def close_stocktaking(self) -> bool:
        """
        Let others write again; return whether there was a stocktaking.
        """
        with self._hand:
            db, self._stocktaking = self._stocktaking, None
            if db is not None:
                db.execute("ROLLBACK")  # this one counted, and wrote nothing
                db.close()
            return db is not None


_INSERT_ORDER: Final = (
    "INSERT INTO orders VALUES"
    " (:reference, :customer, :sku, :quantity, :total_cents, :placed_on, :status)"
)


def _fill(db: sqlite3.Connection, dice: random.Random) -> None:
    """
    Write 96 articles, 60 customers and 240 orders.
    """
    prices: dict[str, int] = {}
    for short, name, kind, origin, cents in TEAS:
        for grams in GRAMS:
            sku = f"{short}-{grams}"
            prices[sku] = max(20, cents * grams // 100)
            stock = dice.randint(12, 180)
            db.execute(
                "INSERT INTO teas VALUES (?, ?, ?, ?, ?, ?, ?)",
                (sku, name, kind, origin, grams, prices[sku], stock),
            )
    for number in range(1, 61):
        name = f"{dice.choice(FIRST)} {dice.choice(LAST)}"
        email = f"{name.lower().replace(' ', '.')}.{number}@mail.example"
        since = date(2019, 1, 7) + timedelta(days=dice.randint(0, 2500))
        db.execute(
            "INSERT INTO customers VALUES (?, ?, ?, ?, ?)",
            (number, name, email, dice.choice(COUNTRIES), since.isoformat()),
        )
    for number in range(1, 241):
        sku, quantity = dice.choice(list(prices)), dice.randint(1, 12)
        placed_on = date(2026, 1, 5) + timedelta(days=number)
        order = Order(
            reference=f"LL-2026-{number:04}",
            customer=dice.randint(1, 60),
            sku=sku,
            quantity=quantity,
            total_cents=prices[sku] * quantity,
            placed_on=placed_on.isoformat(),
            status=dice.choice(STATUSES),
        )
        db.execute(_INSERT_ORDER, order.model_dump())
