"""The partners' door: /chat, /set_info, /get_info, health."""
