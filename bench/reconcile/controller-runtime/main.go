// Like ../operator.ts on controller-runtime: a gadget owns a ConfigMap, a Service and a Deployment; spec.size is copied to
// status.observed. It follows the Kubebuilder book: CreateOrUpdate for each child, Owns for their changes, a status update at the end.
package main

import (
	"context"
	"os"
	"strconv"
	"time"

	"go.uber.org/zap/zapcore"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type reconciler struct {
	client.Client
	scheme *runtime.Scheme
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var owner Gadget
	if err := r.Get(ctx, request.NamespacedName, &owner); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	for _, child := range []struct {
		object client.Object
		mutate func()
	}{
		configMapOf(&owner),
		serviceOf(&owner),
		deploymentOf(&owner),
	} {
		_, err := controllerutil.CreateOrUpdate(ctx, r.Client, child.object, func() error {
			child.mutate()
			return controllerutil.SetControllerReference(&owner, child.object, r.scheme)
		})
		if err != nil {
			return ctrl.Result{}, err
		}
	}
	if owner.Status.Observed == owner.Spec.Size {
		return ctrl.Result{}, nil
	}
	owner.Status.Observed = owner.Spec.Size
	return ctrl.Result{}, r.Status().Update(ctx, &owner)
}

type child = struct {
	object client.Object
	mutate func()
}

func metaOf(owner *Gadget) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: owner.Name, Namespace: owner.Namespace}
}

func configMapOf(owner *Gadget) child {
	object := &corev1.ConfigMap{ObjectMeta: metaOf(owner)}
	return child{object, func() {
		object.Data = map[string]string{"size": strconv.Itoa(int(owner.Spec.Size))}
	}}
}

func serviceOf(owner *Gadget) child {
	object := &corev1.Service{ObjectMeta: metaOf(owner)}
	return child{object, func() {
		object.Spec.Selector = map[string]string{"app": owner.Name}
		// Headless, because the range of cluster IPs is small.
		object.Spec.ClusterIP = corev1.ClusterIPNone
		object.Spec.Ports = []corev1.ServicePort{{
			Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080),
		}}
	}}
}

func deploymentOf(owner *Gadget) child {
	object := &appsv1.Deployment{ObjectMeta: metaOf(owner)}
	return child{object, func() {
		labels := map[string]string{"app": owner.Name}
		replicas := owner.Spec.Size
		object.Spec.Replicas = &replicas
		if object.Spec.Selector == nil {
			object.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		}
		object.Spec.Template.Labels = labels
		// Sets only the fields of this operator: the API server has set defaults in the other fields of an existing container.
		if len(object.Spec.Template.Spec.Containers) == 0 {
			object.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main"}}
		}
		object.Spec.Template.Spec.Containers[0].Image = "registry.example.com/app:1"
	}}
}

func main() {
	ctrl.SetLogger(zap.New(zap.Level(zapcore.ErrorLevel)))
	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	must(addToScheme(scheme, os.Getenv("BENCH_GROUP")))
	options := ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{os.Getenv("BENCH_NAMESPACE"): {}}},
	}
	if resync := os.Getenv("BENCH_RESYNC"); resync != "" {
		period, err := time.ParseDuration(resync)
		must(err)
		options.Cache.SyncPeriod = &period
	}
	config := ctrl.GetConfigOrDie()
	// The default limit of 20 requests a second would dominate the measurement.
	config.QPS = -1
	manager, err := ctrl.NewManager(config, options)
	must(err)
	must(ctrl.NewControllerManagedBy(manager).
		For(&Gadget{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&corev1.Service{}).
		Owns(&appsv1.Deployment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10}).
		Complete(&reconciler{manager.GetClient(), scheme}))
	must(manager.Start(ctrl.SetupSignalHandler()))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
