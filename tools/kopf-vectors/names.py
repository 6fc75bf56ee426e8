"""
Prints every public name of Python's Kopf as JSON: exports, decorators and their options, the arguments of handlers, settings, the
command line and its environment. The page "Coming from Kopf" must name a counterpart for each, or the reason why there is none.

Run with a Python that has Kopf 1.45.2 installed, from the root of the repository:
  python tools/kopf-vectors/names.py > test/testdata/kopf-names.json
"""
import dataclasses
import importlib.metadata
import inspect
import json
import sys

import click
import kopf
import kopf.cli
import kopf.on
import kopf.testing
from kopf._core.intents import callbacks, causes

POSITIONS = {'arg1', 'arg2', 'arg3'}
DECORATORS = [
    'startup', 'cleanup', 'login', 'probe', 'validate', 'mutate', 'resume', 'create', 'update', 'delete', 'field', 'event',
    'index', 'daemon', 'timer', 'subhandler', 'register',
]
FUNCTIONS = [
    'adopt', 'label', 'harmonize_naming', 'adjust_namespace', 'append_owner_reference', 'remove_owner_reference',
    'build_owner_reference', 'event', 'info', 'warn', 'exception', 'execute', 'configure', 'run', 'TemporaryError', 'AdmissionError',
]
CLASSES = [
    'ConnectionInfo', 'WebhookServer', 'WebhookNgrokTunnel', 'AnnotationsProgressStorage', 'StatusProgressStorage',
    'SmartProgressStorage', 'AnnotationsDiffBaseStorage', 'StatusDiffBaseStorage',
]
ENUMS = ['Reason', 'DaemonStoppingReason', 'DiffOperation', 'ErrorsMode', 'LogFormat']
CALLBACKS = {
    'activities': callbacks.ActivityFn, 'index': callbacks.IndexingFn, 'event': callbacks.WatchingFn,
    'changes': callbacks.ChangingFn, 'admission': callbacks.WebhookFn, 'daemon': callbacks.DaemonFn, 'timer': callbacks.TimerFn,
}


def parameters(fn):
    private = POSITIONS | {'self', 'args', 'kwargs', '_'}
    names = [name for name in inspect.signature(fn).parameters if name not in private and not name.startswith('_')]
    return [name.removesuffix('__msg').lstrip('_') for name in names]


def names():
    others = [name for name, value in inspect.getmembers(kopf) if not name.startswith('_') and not inspect.ismodule(value)]
    return sorted({*kopf.__all__, *others, 'testing'})


def arguments():
    """The arguments that the handler protocols declare; for admission also the arguments that Kopf passes undeclared."""
    found = {kind: {*parameters(protocol.__call__)} for kind, protocol in CALLBACKS.items()}
    beyond = {field.name for field in dataclasses.fields(causes.WebhookCause)} - {'indices', 'reason', 'webhook'}
    found['admission'] |= beyond
    return {kind: sorted(each) for kind, each in found.items()}


def settings():
    knobs = []
    for group in dataclasses.fields(kopf.OperatorSettings):
        value = getattr(kopf.OperatorSettings(), group.name)
        fields = [field.name for field in dataclasses.fields(value)]
        properties = [name for name in dir(type(value)) if isinstance(getattr(type(value), name), property)]
        knobs += [f'{group.name}.{name}' for name in (*fields, *properties) if not name.startswith('_')]
    return sorted(knobs)


def commands():
    found = {}
    for name, command in kopf.cli.main.commands.items():
        context = click.Context(command, info_name=name, auto_envvar_prefix=f'KOPF_{name.upper()}')
        options = [param for param in command.get_params(context) if isinstance(param, click.Option) and '--help' not in param.opts]
        found[name] = {
            'options': sorted(flag for param in options for flag in (*param.opts, *param.secondary_opts)),
            'environment': sorted(variable(param, context) for param in options),
        }
    # Kopf reads this variable separately, for older deployments.
    found['run']['environment'] = sorted([*found['run']['environment'], 'KOPF_RUN_NAMESPACE'])
    return found


def variable(param, context):
    return param.envvar or f'{context.auto_envvar_prefix}_{param.name.upper()}'


recorded = {
    'version': importlib.metadata.version('kopf'),
    'names': names(),
    'lifecycles': sorted(name for name, value in inspect.getmembers(kopf.lifecycles, inspect.isfunction) if 'lifecycle' not in name),
    'decorators': {name: parameters(getattr(kopf.on, name)) for name in DECORATORS},
    'functions': {name: parameters(getattr(kopf, name)) for name in FUNCTIONS},
    'classes': {name: parameters(getattr(kopf, name)) for name in CLASSES},
    'enums': {name: [member.name for member in getattr(kopf, name)] for name in ENUMS},
    'runner': {
        'parameters': parameters(kopf.testing.KopfRunner),
        'members': [name for name, value in vars(kopf.testing.KopfRunner).items() if isinstance(value, property)],
    },
    'arguments': arguments(),
    'settings': settings(),
    'commands': commands(),
}
json.dump(recorded, sys.stdout, indent=2, ensure_ascii=False)
sys.stdout.write('\n')
