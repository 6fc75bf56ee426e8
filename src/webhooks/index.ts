/**
 * What listens for requests of the API server, to be set as `settings.admission.server`.
 *
 * @module kopf/webhooks
 */

export type { WebhookClientConfig, WebhookContext, WebhookFn, WebhookServe } from '../settings/webhook-server.ts'
export { WebhookAutoServer, WebhookAutoTunnel, type WebhookAutoTunnelOptions } from './auto-server.ts'
export type { VerifyMode } from './http/listener.ts'
export { WebhookNgrokTunnel, type WebhookNgrokTunnelOptions } from './ngrok/tunnel.ts'
export { WebhookDockerDesktopServer, WebhookK3dServer, WebhookMinikubeServer, WebhookServer } from './server.ts'
export type { WebhookServerOptions } from './server-options.ts'
export { WebhookServiceServer, type WebhookServiceServerOptions } from './service-server.ts'
