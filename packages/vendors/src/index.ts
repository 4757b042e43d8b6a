export {
  type AcsAddress,
  type AcsMail,
  type AcsOptions,
  type AcsServer,
  type AcsStatus,
  acsError,
  startAcsServer,
} from './acs.ts'
export type { AwsOptions } from './aws.ts'
export {
  type AwsSmsEvent,
  awsSmsEvent,
  type SesEvent,
  type SesEventType,
  type SnsDelivery,
  sesEvent,
  snsDelivery,
} from './aws-events.ts'
export {
  type AwsSmsErrorDetails,
  type AwsSmsMessage,
  type AwsSmsOptions,
  type AwsSmsServer,
  awsSmsError,
  startAwsSmsServer,
} from './aws-sms.ts'
export type { VendorCallback } from './callback.ts'
export { loopbackCertificate } from './certificates.ts'
export {
  cloudEventsHandshake,
  type EmailReport,
  type EventGridSchema,
  eventGridCallback,
  eventGridValidation,
} from './event-grid-callback.ts'
export { type FcmMessage, type FcmServer, fcmError, startFcmServer } from './fcm.ts'
export {
  type InteraktMessage,
  type InteraktOptions,
  type InteraktServer,
  interaktError,
  startInteraktServer,
} from './interakt.ts'
export { type InteraktCallbackOptions, type InteraktStatus, interaktCallback } from './interakt-callback.ts'
export {
  type MetaMessage,
  type MetaOptions,
  type MetaServer,
  type MetaSubscription,
  metaError,
  startMetaServer,
} from './meta.ts'
export { type MetaCallbackOptions, type MetaStatus, metaCallback, metaChallenge } from './meta-callback.ts'
export { type Msg91Message, type Msg91Options, type Msg91Server, msg91Error, startMsg91Server } from './msg91.ts'
export { type Msg91Report, type Msg91Shape, msg91Report } from './msg91-report.ts'
export type { Fault, ServerOptions, VendorReply, VendorRequest, VendorServer } from './server.ts'
export { startVendorServer, type VendorRules } from './server.ts'
export { type SesMail, type SesOptions, type SesServer, sesError, startSesServer } from './ses.ts'
export {
  type SmtpFault,
  type SmtpMail,
  type SmtpOptions,
  type SmtpReply,
  type SmtpServer,
  startSmtpServer,
} from './smtp.ts'
export { type SnsOptions, type SnsServer, type SnsTextMessage, snsError, startSnsServer } from './sns.ts'
export { snsCertificate } from './sns-certificate.ts'
export { type SnsCertificateServer, type SnsMessage, snsMessage, startSnsCertificateServer } from './sns-message.ts'
export { startWebhookReceiver, type WebhookReceiver } from './webhook.ts'
export { startWnsServer, type WnsNotification, type WnsOptions, type WnsServer, wnsError } from './wns.ts'
