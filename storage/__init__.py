"""The only home of SQL: tables, migrations, and one file for each port."""
