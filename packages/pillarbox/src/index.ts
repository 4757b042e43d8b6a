export { type Config, resolveConfig } from './config/config.ts'
export { createPillarbox, type Parts, type Pillarbox, type Started } from './pillarbox.ts'
