/** A name as an identifier of SQL, whatever characters it has. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A text as a literal of SQL, with the setting that backslashes are plain characters. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
