/**
 * What one template may cost. Everything is counted, nothing is timed: the same template and payload give the same answer
 * on a busy machine as on an idle one. A unit is some tens of nanoseconds, so that the most costly template there can be
 * takes about a tenth of a second.
 */
export const MAX_TEMPLATE_CHARACTERS = 100_000
/** Placeholders, tags and the text between them. */
export const MAX_TEMPLATE_PARTS = 5_000
/** Of one placeholder or tag. */
export const MAX_PART_CHARACTERS = 5_000
/** Blocks within blocks, lists within lists. */
export const MAX_NESTING = 50
/** Of everything one rendering writes: subject, body, provider template, and what it captures on the way. */
export const MAX_OUTPUT_CHARACTERS = 1_000_000
const MAX_UNITS = 2_000_000
/** At one go: a list or a text that is made in one step cannot be stopped half way. */
const MAX_UNITS_AT_ONCE = 500_000

/** In units. Text that is worked on is a unit a character. */
export const COST = { part: 25, token: 15, element: 10, spelling: 5, key: 20, format: 500, zone: 10_000 } as const
/** Shorter text is compared and copied for nothing; longer by so many characters a unit. */
const LONG_TEXT = 1_000
const CHARACTERS_COMPARED = 4

/** The units a rendering still has. liquidjs charges the memory it takes to the same account. */
export interface WorkBudget {
  /** Throws when there are not as many left. */
  use(units: number): void
  /** Charges for what the next step may do with a value: a list may be walked through with all lists within. */
  weigh(value: unknown): void
  /** For liquidjs, which asks for the time here. */
  check(): void
}

export function createWork(maxUnits = MAX_UNITS): WorkBudget {
  let left = maxUnits
  let sizes: Map<unknown[], number> | null = null

  function use(units: number): void {
    if (!(units > 0)) return
    if (units > MAX_UNITS_AT_ONCE) throw new Error('limit exceeded: a list or text is too long')
    left -= units
    if (left < 0) throw new Error('limit exceeded: the template takes too much work')
  }

  /** Remembered, because a template can put a list into another twice, and that one into the next, and so on. */
  function sizeOf(list: unknown[], depth: number): number {
    sizes ??= new Map()
    const known = sizes.get(list)
    if (known !== undefined) return known
    if (depth > MAX_NESTING) throw new Error('limit exceeded: lists are nested too deeply')
    use(list.length)
    let size = list.length
    for (const element of list) if (Array.isArray(element)) size += sizeOf(element, depth + 1)
    sizes.set(list, size)
    return size
  }

  return {
    use,
    weigh(value) {
      if (typeof value === 'string') {
        if (value.length > LONG_TEXT) use(value.length / CHARACTERS_COMPARED)
      } else if (Array.isArray(value)) use(sizeOf(value, 0) * COST.element)
    },
    check() {},
  }
}
