/** The buckets of the histograms of durations. Those of controller-runtime and client-go are the same as there, so that dashboards for them fit. */

/** `controller_runtime_reconcile_time_seconds`. */
export const reconcileBuckets: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]

/** `workqueue_*_seconds`: twelve powers of ten from 10 ns. */
export const queueBuckets: readonly number[] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000]

/** `rest_client_request_duration_seconds`. */
export const requestBuckets: readonly number[] = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60]

/** `controller_runtime_webhook_latency_seconds`. */
export const webhookBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Calls of handlers, which may last from less than a millisecond to minutes. */
export const handlerBuckets: readonly number[] = [
  0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
]

/** From a change to the written result, with all retries. */
export const handledBuckets: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200,
]

/** The lateness of timers. */
export const latenessBuckets: readonly number[] = [0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300]
