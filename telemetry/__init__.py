"""Names of logs, spans and metrics, and redaction. Exporters are set up by wiring alone."""
