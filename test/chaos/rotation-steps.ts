import type { KeyFiles } from '../../packages/pillarbox/src/config/key-files.ts'
import type { SealedTable } from '../../packages/pillarbox/src/operate/sealed-store.ts'
import { readKeyState } from '../../packages/pillarbox/src/security/key-state.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'

/**
 * Every place between two durable facts at which a rotation may be killed, and what it leaves behind. They are wrapped
 * around the product's parts from outside: the product itself has no such points.
 */
export const ROTATION_STEPS = {
  'propose.before': 'no new key has been made',
  'propose.after': 'a new key waits in the data folder, nobody knows of it',
  'announce.after': 'the rotation is known to others',
  'turn.before': 'everybody has the new key, secrets are sealed under the old one',
  'turn.after': 'the database names the new key, the old one is still master.key',
  'keep.after': 'the old key has its name as a former one, and is still master.key',
  'promote.after': 'the new key is master.key, nothing is sealed anew',
  ...ofTable('accounts'),
  ...ofTable('notifications'),
  ...ofTable('events'),
  ...ofTable('inbox_messages'),
  'finish.before': 'everything is sealed anew, the database still names the old key',
  'finish.after': 'the database names the new key only, and nobody was told',
} as const

export type RotationStep = keyof typeof ROTATION_STEPS

function ofTable<T extends SealedTable>(table: T) {
  return {
    [`look.${table}`]: `some of ${table} may be sealed anew`,
    [`replace.${table}.before`]: `a batch of ${table} is sealed anew in memory only`,
    [`replace.${table}.after`]: `a batch of ${table} is sealed anew, and nobody was told`,
  } as Record<`look.${T}` | `replace.${T}.before` | `replace.${T}.after`, string>
}

/** Says that a step is reached; the nth time, the process is gone when this would return. */
export type Reach = (step: RotationStep) => void

export function storeUnderTest(store: Store, reach: Reach): Store {
  const isTurn = (from: string, to: string): boolean => readKeyState(from).current !== readKeyState(to).current
  return {
    ...store,
    instance: {
      ...store.instance,
      async change(name, from, to) {
        const step = isTurn(from, to) ? 'turn' : 'finish'
        reach(`${step}.before`)
        const isChanged = await store.instance.change(name, from, to)
        reach(`${step}.after`)
        return isChanged
      },
    },
    sealed: {
      ...store.sealed,
      async announce(holder) {
        await store.sealed.announce(holder)
        reach('announce.after')
      },
      async look(table, ...rest) {
        reach(`look.${table}`)
        return await store.sealed.look(table, ...rest)
      },
      async replace(table, changes) {
        if (changes.length === 0) return 0
        reach(`replace.${table}.before`)
        const count = await store.sealed.replace(table, changes)
        reach(`replace.${table}.after`)
        return count
      },
    },
  }
}

export function filesUnderTest(files: KeyFiles, reach: Reach): KeyFiles {
  return {
    ...files,
    async propose() {
      reach('propose.before')
      const key = await files.propose()
      reach('propose.after')
      return key
    },
    async keepMaster() {
      await files.keepMaster()
      reach('keep.after')
    },
    async promote(id) {
      await files.promote(id)
      reach('promote.after')
    },
  }
}

/** In the order they are reached. `hasFiles`: the keys are in files; those about files are not reached otherwise. */
export function rotationSteps(hasFiles: boolean): RotationStep[] {
  const all = Object.keys(ROTATION_STEPS) as RotationStep[]
  return hasFiles ? all : all.filter((step) => !/^(propose|keep|promote)\./.test(step))
}
