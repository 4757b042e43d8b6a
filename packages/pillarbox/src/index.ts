export type {
  Capability,
  Field,
  Provider,
  ProviderContent,
  ProviderFields,
  SendRequest,
  Target,
  Verification,
} from './channels/channel.ts'
export {
  digits,
  emailAddress,
  endpoint,
  headerSecret,
  hostName,
  httpUrl,
  matching,
  oneOf,
  phoneNumber,
  secretText,
  text,
  wholeNumber,
} from './channels/fields.ts'
export type { Dial, Outbound, OutboundAnswer, OutboundFailure, OutboundRequest } from './channels/outbound.ts'
export { createTokenCache, type Token, type TokenCache, type TokenRequest } from './channels/token-cache.ts'
export {
  at,
  baseOf,
  jsonOf,
  noted,
  outcomeOf,
  outcomeOfFailure,
  type Rule,
  retryAfterOf,
  textAt,
} from './channels/vendor-answers.ts'
export { type Config, resolveConfig } from './config/config.ts'
export type { Account } from './model/account.ts'
export type { Channel } from './model/channel.ts'
export type { Outcome } from './model/outcome.ts'
export type { Clock } from './model/ports.ts'
export {
  createPillarbox,
  type Overrides,
  type OwnProviderDeps,
  type Parts,
  type Pillarbox,
  type Started,
} from './pillarbox.ts'
export type { ResolveAnswer, ResolveEvent, ResolveHook } from './plan/resolve-hook.ts'
