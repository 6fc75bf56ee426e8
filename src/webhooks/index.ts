/**
 * Webhook servers for `settings.admission.server`. Each listens for requests of the API server, passes them to the admission and conversion
 * handlers, and reports its address and CA certificate to the operator.
 *
 * - In a cluster, behind a Service: `WebhookServiceServer`.
 * - On your machine, with a local cluster: `WebhookAutoServer`.
 * - On your machine, with a remote cluster: `WebhookAutoTunnel` or `WebhookNgrokTunnel`.
 * - With your own address and certificates: `WebhookServer`.
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
