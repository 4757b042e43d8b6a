/** What changed between two texts, line by line. */
export interface DiffLine {
  kind: 'same' | 'gone' | 'new'
  text: string
  /** Its number in the text it is of. */
  number: number
}

/** Beyond this, comparing each line with each would make the page stand still. */
const MOST_CELLS = 4_000_000

export function diffOf(before: string, after: string): DiffLine[] {
  const [old, young] = [before.split('\n'), after.split('\n')]
  if (old.length * young.length > MOST_CELLS)
    return [...old.map((text, i) => line('gone', text, i)), ...young.map((text, i) => line('new', text, i))]
  const common = commonLengths(old, young)
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < young.length) {
    if (i < old.length && j < young.length && old[i] === young[j]) {
      lines.push(line('same', young[j] ?? '', j))
      i++
      j++
    } else if (j >= young.length || (i < old.length && lengthAt(common, i + 1, j) >= lengthAt(common, i, j + 1))) {
      lines.push(line('gone', old[i] ?? '', i))
      i++
    } else {
      lines.push(line('new', young[j] ?? '', j))
      j++
    }
  }
  return lines
}

function line(kind: DiffLine['kind'], text: string, place: number): DiffLine {
  return { kind, text, number: place + 1 }
}

/** At each place: how many lines the rests of both texts have in common, in order. */
function commonLengths(old: readonly string[], young: readonly string[]): Uint32Array[] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(young.length + 1))
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = young.length - 1; j >= 0; j--) {
      const row = lengths[i]
      if (!row) continue
      row[j] =
        old[i] === young[j]
          ? lengthAt(lengths, i + 1, j + 1) + 1
          : Math.max(lengthAt(lengths, i + 1, j), lengthAt(lengths, i, j + 1))
    }
  return lengths
}

function lengthAt(lengths: readonly Uint32Array[], i: number, j: number): number {
  return lengths[i]?.[j] ?? 0
}
