import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'

const root = path.resolve(import.meta.dirname, '../..')
const folder = path.join(root, 'docs/seeds')

/** How many demands each letter has. */
const DEMANDS = { A: 18, B: 16, C: 10, D: 26, E: 9 } as const

interface DemandRow {
  page: string
  id: string
  shownBy: string
}

const ROWS: DemandRow[] = readdirSync(folder).flatMap((page) =>
  [...readFileSync(path.join(folder, page), 'utf8').matchAll(/^\| ([A-E]\d+) \| [^|]+ \| (.+) \|$/gm)].map(
    ([, id = '', shownBy = '']) => ({ page, id, shownBy }),
  ),
)

/** Tests, as `file` “name”, and links to pages. */
const TESTS = /`([\w./-]+\.ts)` “([^”]+)”/g
const LINKS = /\]\(([^)#]+)(?:#[^)]*)?\)/g
const isOpen = ({ shownBy }: DemandRow): boolean => shownBy.startsWith('open')

describe('the pages of docs/seeds', () => {
  it('have every demand once', (t) => {
    const wanted = Object.entries(DEMANDS).flatMap(([letter, count]) =>
      Array.from({ length: count }, (_, i) => `${letter}${i + 1}`),
    )

    assert.deepEqual(
      ROWS.map(({ id }) => id).toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })),
      wanted,
    )
    t.diagnostic(`${ROWS.filter(isOpen).length} of ${ROWS.length} demands are open`)
  })

  it('say of every demand where it is shown, or what is open', () => {
    const silent = ROWS.filter((row) => !isOpen(row) && !/(?:`[\w./-]+\.ts` “|\]\()/.test(row.shownBy))

    assert.deepEqual(silent, [])
  })

  it('name tests and pages that exist', () => {
    const astray = ROWS.flatMap(({ page, id, shownBy }) => [
      ...[...shownBy.matchAll(TESTS)]
        .filter(([, file = '', name = '']) => {
          const place = path.join(root, file)
          return !existsSync(place) || !readFileSync(place, 'utf8').includes(name)
        })
        .map(([named]) => `${page} ${id}: ${named}`),
      ...[...shownBy.matchAll(LINKS)]
        .filter(([, link = '']) => !existsSync(path.join(folder, link)))
        .map(([, link]) => `${page} ${id}: ${link}`),
    ])

    assert.deepEqual(astray, [])
  })
})
