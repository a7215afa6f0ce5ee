// The home of SQLite: a database with the table `points`, one column a key and a number, and the table `provenance`.
//
// Rows are inserted in a transaction a batch; what a crash interrupts, SQLite rolls back. Columns by which people
// search have an index: the scenario's hash, the status, the keys of the axes, and numbers that can be good or bad.
#include "sweep/sweep_rows.hpp"

#include <algorithm>
#include <sqlite3.h>
#include <utility>

namespace takt {
namespace {

struct DatabaseCloser {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct StatementCloser {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, StatementCloser>;

/// A name as SQL writes it.
std::string quoted_name(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

/// A connection; every call says what went wrong in words of the file.
class Database {
 public:
  explicit Database(std::string path) : path_(std::move(path)) {}

  std::optional<Diagnostic> open(int flags) {
    sqlite3* database = nullptr;
    const int status = sqlite3_open_v2(path_.c_str(), &database, flags, nullptr);
    database_.reset(database);
    return status == SQLITE_OK ? std::nullopt : std::optional(problem());
  }

  std::optional<Diagnostic> execute(const std::string& sql) {
    const int status = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
    return status == SQLITE_OK ? std::nullopt : std::optional(problem());
  }

  Result<Statement> prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    const int status = sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr);
    if (status != SQLITE_OK) return problem();
    return Statement(statement);
  }

  Diagnostic problem() const {
    return {
        Severity::error, {path_, 0, 0, {}}, std::string("the database says: ") + sqlite3_errmsg(database_.get()), ""};
  }

 private:
  std::string path_;
  std::unique_ptr<sqlite3, DatabaseCloser> database_;
};

void bind_text(sqlite3_stmt* statement, int position, const std::string& text) {
  sqlite3_bind_text(statement, position, text.c_str(), static_cast<int>(text.size()), SQLITE_TRANSIENT);  // NOLINT
}

struct Binder {
  sqlite3_stmt* statement;
  int position;

  void operator()(std::nullptr_t) const { sqlite3_bind_null(statement, position); }
  void operator()(bool value) const { sqlite3_bind_int(statement, position, value ? 1 : 0); }
  void operator()(std::int64_t value) const { sqlite3_bind_int64(statement, position, value); }
  void operator()(double value) const { sqlite3_bind_double(statement, position, value); }
  void operator()(const std::string& text) const { bind_text(statement, position, text); }
  void operator()(const Json::Array& list) const {
    bind_text(statement, position, write_json(list, JsonLayout::compact));
  }
  void operator()(const Json::Object& object) const {
    bind_text(statement, position, write_json(object, JsonLayout::compact));
  }
};

std::string text_at(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));  // NOLINT: SQLite's bytes
  return text == nullptr ? "" : text;
}

Json cell_at(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return static_cast<std::int64_t>(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT:
      return text_at(statement, column);
    default:
      return {};
  }
}

std::string create_points(const std::vector<SweepColumn>& columns) {
  std::string sql = "CREATE TABLE points (";
  for (const SweepColumn& column : columns) {
    sql += (&column == columns.data() ? "" : ", ") + quoted_name(column.name);
    if (column.name == "point") sql += " INTEGER PRIMARY KEY";
  }
  sql += ");";
  for (const SweepColumn& column : columns) {
    const bool searched = column.kind == SweepColumn::Kind::key || column.better != Better::neither ||
                          column.name == "hash" || column.name == "status";
    if (!searched) continue;
    sql += "CREATE INDEX " + quoted_name("by " + column.name) + " ON points (" + quoted_name(column.name) + ");";
  }
  return sql + "CREATE TABLE provenance (name TEXT PRIMARY KEY, value TEXT);";
}

class SqliteOutput final : public SweepOutput {
 public:
  SqliteOutput(const std::string& path, std::vector<SweepColumn> columns)
      : path_(path), columns_(std::move(columns)), database_(path) {}
  ~SqliteOutput() override { flush(); }

  std::optional<Diagnostic> open(const Provenance& provenance) {
    if (auto error = database_.open(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) return error;
    Result<Statement> tables = database_.prepare("SELECT count(*) FROM sqlite_master WHERE name = 'points'");
    if (!tables) return tables.diagnostics().front();
    sqlite3_step(tables->get());
    const bool is_new = sqlite3_column_int(tables->get(), 0) == 0;
    tables->reset();
    if (auto error = is_new ? create(provenance) : read_present()) return error;
    std::string sql = "INSERT INTO points VALUES (?";
    for (std::size_t i = 1; i < columns_.size(); ++i) sql += ", ?";
    Result<Statement> insert = database_.prepare(sql + ")");
    if (!insert) return insert.diagnostics().front();
    insert_ = std::move(*insert);
    return std::nullopt;
  }

  const std::vector<RowKey>& present() const override { return present_; }
  void format(SweepRow&) const override {}

  std::optional<Diagnostic> append(const SweepRow& row) override {
    if (!in_transaction_) {
      if (auto error = database_.execute("BEGIN")) return error;
      in_transaction_ = true;
    }
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      std::visit(Binder{insert_.get(), static_cast<int>(i) + 1}, row.cells[i].value);
    }
    const int status = sqlite3_step(insert_.get());
    sqlite3_reset(insert_.get());
    if (status != SQLITE_DONE) return database_.problem();
    return clock_.due() ? flush() : std::nullopt;
  }

  std::optional<Diagnostic> flush() override {
    clock_.restart();
    if (!in_transaction_) return std::nullopt;
    in_transaction_ = false;
    return database_.execute("COMMIT");
  }

 private:
  std::optional<Diagnostic> create(const Provenance& provenance) {
    if (auto error = database_.execute("BEGIN;" + create_points(columns_))) return error;
    Result<Statement> insert = database_.prepare("INSERT INTO provenance VALUES (?, ?)");
    if (!insert) return insert.diagnostics().front();
    for (const auto& [name, value] : provenance) {
      bind_text(insert->get(), 1, name);
      bind_text(insert->get(), 2, value);
      if (sqlite3_step(insert->get()) != SQLITE_DONE) return database_.problem();
      sqlite3_reset(insert->get());
    }
    insert->reset();
    return database_.execute("COMMIT");
  }

  std::optional<Diagnostic> read_present() {
    Result<Statement> select = database_.prepare("SELECT * FROM points ORDER BY point");
    if (!select) return select.diagnostics().front();
    sqlite3_stmt* rows = select->get();
    bool same = static_cast<std::size_t>(sqlite3_column_count(rows)) == columns_.size();
    for (std::size_t i = 0; same && i < columns_.size(); ++i) {
      same = columns_[i].name == sqlite3_column_name(rows, static_cast<int>(i));
    }
    if (!same) {
      return Diagnostic{Severity::error,
                        {path_, 0, 0, {}},
                        "holds rows of another sweep: its columns are others",
                        "name another file"};
    }
    constexpr int point_column = 0, hash_column = 2, base = 16;
    while (sqlite3_step(rows) == SQLITE_ROW) {
      RowKey key{static_cast<std::uint64_t>(sqlite3_column_int64(rows, point_column)), std::nullopt};
      const std::string hash = text_at(rows, hash_column);
      if (!hash.empty()) key.hash = std::stoull(hash, nullptr, base);
      present_.push_back(key);
    }
    return std::nullopt;
  }

  std::string path_;
  std::vector<SweepColumn> columns_;
  Database database_;
  Statement insert_;
  std::vector<RowKey> present_;
  bool in_transaction_ = false;
  BatchClock clock_;
};

class SqliteRows final : public SweepRows {
 public:
  explicit SqliteRows(const std::string& path) : database_(path) {}

  std::optional<Diagnostic> open() {
    if (auto error = database_.open(SQLITE_OPEN_READONLY)) return error;
    Result<Statement> select = database_.prepare("SELECT * FROM points ORDER BY point");
    if (!select) return select.diagnostics().front();
    select_ = std::move(*select);
    for (int i = 0; i < sqlite3_column_count(select_.get()); ++i) {
      columns_.emplace_back(sqlite3_column_name(select_.get(), i));
    }
    return std::nullopt;
  }

  const std::vector<std::string>& columns() const override { return columns_; }

  bool next(SweepRow& row) override {
    if (sqlite3_step(select_.get()) != SQLITE_ROW) return false;
    row.cells.clear();
    for (int i = 0; i < static_cast<int>(columns_.size()); ++i) row.cells.push_back(cell_at(select_.get(), i));
    return true;
  }

  Provenance provenance() override {
    Provenance texts;
    Result<Statement> select = database_.prepare("SELECT name, value FROM provenance ORDER BY name");
    while (select && sqlite3_step(select->get()) == SQLITE_ROW) {
      texts.emplace_back(text_at(select->get(), 0), text_at(select->get(), 1));
    }
    return texts;
  }

 private:
  Database database_;
  Statement select_;
  std::vector<std::string> columns_;
};

}  // namespace

Result<std::unique_ptr<SweepOutput>> open_sqlite_output(const std::string& path, std::vector<SweepColumn> columns,
                                                        const Provenance& provenance, Opening) {
  auto output = std::make_unique<SqliteOutput>(path, std::move(columns));
  if (const std::optional<Diagnostic> error = output->open(provenance)) return *error;
  return std::unique_ptr<SweepOutput>(std::move(output));
}

Result<std::unique_ptr<SweepRows>> open_sqlite_rows(const std::string& path) {
  auto rows = std::make_unique<SqliteRows>(path);
  if (const std::optional<Diagnostic> error = rows->open()) return *error;
  return std::unique_ptr<SweepRows>(std::move(rows));
}

}  // namespace takt
