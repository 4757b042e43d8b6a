export { type Config, resolveConfig } from './config/config.ts'
export { createPillarbox, type Overrides, type Parts, type Pillarbox, type Started } from './pillarbox.ts'
export type { ResolveAnswer, ResolveEvent, ResolveHook } from './plan/resolve-hook.ts'
