import type { ListMember } from '@pillarbox/client'

/** As many as the server takes in one call. */
export const MOST_LINES = 10_000

const FIELDS = ['name', 'email', 'phone'] as const
type Field = (typeof FIELDS)[number]

export function linesOf(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== '')
}

/** What a file says: columns by their names where its first line names them, else each cell by what it looks like. */
export function membersIn(text: string): ListMember[] {
  const rows = linesOf(text).map(cellsOf)
  const names = rows[0]?.map((cell) => FIELDS.find((field) => field === cell.trim().toLowerCase()) ?? null) ?? []
  if (!names.some((name) => name !== null)) return rows.map(memberByLook)
  return rows.slice(1).map((cells) => {
    const member: Record<Field, string | null> = { name: null, email: null, phone: null }
    for (const [place, name] of names.entries()) if (name !== null) member[name] = cells[place]?.trim() || null
    return member
  })
}

function memberByLook(cells: readonly string[]): ListMember {
  const member: Record<Field, string | null> = { name: null, email: null, phone: null }
  for (const cell of cells.map((each) => each.trim()).filter((each) => each !== ''))
    member[cell.includes('@') ? 'email' : /^[+\d][\d ()/.-]{4,}$/.test(cell) ? 'phone' : 'name'] ??= cell
  return member
}

/** The cells of one line of CSV, in quotes or without; commas, semicolons and tabs part them. */
function cellsOf(line: string): string[] {
  const cells: string[] = []
  let cell = ''
  let isQuoted = false
  for (const sign of line) {
    if (sign === '"') isQuoted = !isQuoted
    else if (!isQuoted && (sign === ',' || sign === ';' || sign === '\t')) {
      cells.push(cell)
      cell = ''
    } else cell += sign
  }
  return [...cells, cell]
}
