import type { TaskName, Tasks } from './tasks.ts'

/**
 * How work goes to a child and results come back. Items are lines of JSON, of which the child reads one at a time: what one
 * item needs is gone before the next is read, where a whole message as objects would be copied by its collector again and
 * again. What many items have in common goes once.
 */
export interface WorkMessage {
  task: TaskName
  /** What items name by its place in here. As objects, because options hold maps. */
  shared: readonly object[]
  items: string
  /** Processor time, after which the child answers what it has done. */
  budgetMs: number
}

export type Given = Tasks[TaskName]['given']

const SHARED_FIELDS = new Set(['template', 'options', 'rules'])
/** Of what many items in a row have in common, such as the payload of an event with several recipients. */
const REPEATED_FIELDS = new Set(['context'])

export function messageOf(task: TaskName, given: readonly Given[], budgetMs: number): WorkMessage {
  const places = new Map<object, number>()
  let before: Record<string, unknown> = {}
  const lines = given.map((one) => {
    const own: Record<string, unknown> = {}
    for (const [field, value] of Object.entries(one)) {
      if (SHARED_FIELDS.has(field)) own[field] = placeOf(places, value as object)
      else if (!REPEATED_FIELDS.has(field) || before[field] !== value) own[field] = value
    }
    before = one as unknown as Record<string, unknown>
    return JSON.stringify(own)
  })
  return { task, shared: [...places.keys()], items: lines.join('\n'), budgetMs }
}

function placeOf(places: Map<object, number>, value: object): number {
  const place = places.get(value) ?? places.size
  places.set(value, place)
  return place
}

/** The items of a message, each read when it is asked for. */
export function* itemsOf({ shared, items }: WorkMessage): Generator<Given> {
  let before: Record<string, unknown> = {}
  for (const line of items.split('\n')) {
    const own = JSON.parse(line) as Record<string, unknown>
    for (const field of SHARED_FIELDS) if (field in own) own[field] = shared[own[field] as number]
    for (const field of REPEATED_FIELDS) if (!(field in own) && field in before) own[field] = before[field]
    before = own
    yield own as unknown as Given
  }
}
