import { importGraph, type SourceFile } from './source-files.ts'

/**
 * The rooms of the engine from the ground up, one floor a line: a room's files may import files of their own room and of
 * lower floors, never of the same floor or above. So no two rooms have doors both ways.
 *
 * The part of the store that a stage needs is stated by that stage, in a file such as `plan/plan-store.ts`. Such a
 * contract stands on a floor of its own, right above the nouns, wherever it is kept: everybody may import it, `store`
 * above all, and it imports nothing but nouns and other contracts.
 *
 * Where the design names no floor, the imports show it:
 *   catalogue  reads and checks catalogue files; the nouns are all it needs
 *   security   seals, masks and dials for the channels' and the store's types
 *   runtime    loops and hints over the store; everything that runs stands on it
 *   untrusted  works on what strangers wrote, with render's and catalogue's help, where it can be stopped
 *   tenant     reads a tenant's accounts for every stage that needs one
 *   config     settles settings, and reads keys with security's and runtime's help
 *   site       what runs at a site, beside the client's outbox: nothing of the engine
 *   src        the files at the top: `engine.ts` and `pillarbox.ts` put every room together, so only `cli` is above
 */
export const FLOORS: readonly (readonly string[])[] = [
  ['model'],
  ['contracts'],
  ['render', 'channels', 'store', 'catalogue'],
  ['security', 'runtime', 'untrusted'],
  ['tenant'],
  ['config', 'plan'],
  ['dispatch', 'receipts'],
  ['intake', 'operate', 'site'],
  ['http'],
  ['src'],
  ['cli'],
]

/** Imports that go sideways or upwards, as `<from> → <to>`; a room that has no floor is named, too. */
export function doorsUpwards(files: readonly SourceFile[]): string[] {
  const floorOf = new Map(FLOORS.flatMap((rooms, floor) => rooms.map((room) => [room, floor] as const)))
  const homeless = new Set(files.map(({ path }) => roomOf(path)).filter((room) => !floorOf.has(room)))
  const doors = [...importGraph(files)].flatMap(([from, targets]) =>
    targets
      .filter((to) => roomOf(from) !== roomOf(to) && (floorOf.get(roomOf(from)) ?? 0) <= (floorOf.get(roomOf(to)) ?? 0))
      .map((to) => `${from} → ${to}`),
  )
  return [...[...homeless].map((room) => `${room}/ has no floor`), ...new Set(doors)]
}

/** Files that import each other, directly or by way of others: each such circle in alphabetical order. */
export function fileCycles(files: readonly SourceFile[]): string[][] {
  const graph = importGraph(files)
  const reachable = new Map([...graph.keys()].map((file) => [file, reachableFrom(file, graph)]))
  const circles = new Set(
    [...graph.keys()].flatMap((file) => {
      const own = [...(reachable.get(file) ?? [])].filter((other) => reachable.get(other)?.has(file))
      return own.length > 0 ? [own.toSorted().join(' ⇄ ')] : []
    }),
  )
  return [...circles].toSorted().map((circle) => circle.split(' ⇄ '))
}

function reachableFrom(start: string, graph: ReadonlyMap<string, readonly string[]>): Set<string> {
  const seen = new Set<string>()
  const open = [...(graph.get(start) ?? [])]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    open.push(...(graph.get(file) ?? []))
  }
  return seen
}

/** The first folder of a path below `src/`; contracts are at home nowhere. */
function roomOf(path: string): string {
  if (/^(?!cli\/).*-store\.ts$/.test(path)) return 'contracts'
  return path.includes('/') ? path.slice(0, path.indexOf('/')) : 'src'
}

/** Types at the top of a module by their name, with the files that declare one of that name, where several do. */
export function repeatedTypes(files: readonly SourceFile[]): Map<string, string[]> {
  const homes = Map.groupBy(
    files.flatMap(({ path, text }) =>
      [
        ...text.matchAll(/^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|enum) (\w+)\b(?!.* from )/gm),
      ].map(([, name = '']) => ({ name, path })),
    ),
    ({ name }) => name,
  )
  return new Map(
    [...homes]
      .map(([name, found]) => [name, [...new Set(found.map(({ path }) => path))]] as const)
      .filter(([, paths]) => paths.length > 1)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, paths]) => [name, [...paths]]),
  )
}
