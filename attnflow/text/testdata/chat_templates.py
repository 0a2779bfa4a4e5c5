"""Chat templates in the forms that the common families of models use, and what transformers writes with them.

The templates are short ones made for this test. Each has what its family's templates do beyond turns and marks: default
system messages, a system message inside the user's first turn, roles that must alternate, dates, macros.
"""

import json
import os
import time
import unittest.mock

import jinja2
import transformers
from transformers.utils import chat_template_utils

# The moment that templates see which write the date; the test sets SOURCE_DATE_EPOCH to it.
NOW = 1_700_000_000

CHATML = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\\nYou are a small assistant.<|im_end|>\\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

CHATML_WITH_TOOLS = """\
{%- if tools %}
    {{- '<|im_start|>system\\n# Tools\\n' }}
    {%- for tool in tools %}{{ tool | tojson }}{% endfor %}
    {{- '<|im_end|>\\n' }}
{%- elif messages[0]['role'] == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
{%- else %}
    {{- '<|im_start|>system\\nYou are a test. You help.<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first)
        or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role + '\\n<tool_call>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

LLAMA_2 = (
    "{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}"
    "{% set system_message = messages[0]['content'] %}"
    "{% else %}{% set rest = messages %}{% set system_message = false %}{% endif %}"
    "{% for message in rest %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate user/assistant/user/assistant') }}{% endif %}"
    "{% if loop.index0 == 0 and system_message != false %}"
    "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}"
    "{% else %}{% set content = message['content'] %}{% endif %}"
    "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"
)

LLAMA_3 = """\
{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "1 Jan 2000" %}
    {%- endif %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\nToday: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if message.role != 'tool' and not 'tool_calls' in message %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim }}
        {{- '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

MISTRAL = """\
{%- set ns = namespace(index=0) %}
{%- set loop_messages = messages | rejectattr("role", "equalto", "system") | list %}
{%- for message in loop_messages %}
    {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
        {{- raise_exception("After the optional system message, roles must alternate user/assistant") }}
    {%- endif %}
    {%- set ns.index = ns.index + 1 %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if loop.last and messages[0]["role"] == "system" %}
            {{- "[INST] " + messages[0]["content"] + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- else %}
        {{- " " + message["content"] | trim + eos_token }}
    {%- endif %}
{%- endfor %}
"""

ZEPHYR = """\
{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""

GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}"
    "{% else %}{% set role = message['role'] %}{% endif %}"
    "{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}"
)

REASONING = """\
{%- macro text_of(content) -%}
    {%- if content is string %}{{ content }}{% else %}{% for part in content %}{{ part.text }}{% endfor %}{% endif %}
{%- endmacro -%}
{%- for message in messages[::-1] %}{% set last = loop.first %}{% if not last %}{% break %}{% endif %}
[{{ loop.revindex }}]{% endfor %}
{%- for message in messages %}
    {%- set content = text_of(message.content) %}
    {%- if '</think>' in content %}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
    {%- endif %}
    {%- if message.role == 'assistant' %}
        {%- generation %}
<|assistant|>{{ content.rstrip() }}
        {%- endgeneration %}
    {%- else %}
<|{{ message.role | upper }}|>{{ content }}{{ none }}{{ loop.last }}
    {%- endif %}
    {{- message | tojson }}
{%- endfor %}
<|assistant|>{{ '<think>' if enable_thinking is defined else '' }}
"""

FAMILIES = {
    "chatml": CHATML,
    "chatml with tools": CHATML_WITH_TOOLS,
    "llama 2": LLAMA_2,
    "llama 3": LLAMA_3,
    "mistral": MISTRAL,
    "zephyr": ZEPHYR,
    "gemma": GEMMA,
    "reasoning": REASONING,
}

CONVERSATIONS = [
    [("user", "What is the capital of France?")],
    [("system", "Answer in one word. "), ("user", "The key's colour?\n")],
    [("user", "Hi"), ("assistant", "<think>so</think>\n Hello! "), ("user", "  <b>\"two\" & 'three'</b>  ")],
    [("system", "É 日本 😀"), ("user", "{{ x }} {% if %}"), ("assistant", ""), ("user", "\ttabs\tand  spaces")],
    [("user", "a"), ("user", "b")],
    [("assistant", "first")],
]

SPECIALS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


class _Clock(chat_template_utils.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(NOW, tz)


def _as_messages(conversation):
    return [{"role": role, "content": text} for role, text in conversation]


def _rendered(tokenizer, template, conversation):
    try:
        text = tokenizer.apply_chat_template(
            _as_messages(conversation), chat_template=template, tokenize=False, add_generation_prompt=True
        )
    except jinja2.exceptions.TemplateError as error:
        return {"messages": conversation, "refused": str(error)}
    return {"messages": conversation, "text": text}


def write_expected(path, folders):
    os.environ["TZ"] = "UTC"
    time.tzset()
    plain = transformers.AutoTokenizer.from_pretrained(folders[0])
    plain.bos_token, plain.eos_token, plain.unk_token, plain.pad_token = *SPECIALS.values(), None
    document = {
        "made_by": f"make_testdata.py with transformers {transformers.__version__}, jinja2 {jinja2.__version__}",
        "now": NOW,
        "special_tokens": plain.special_tokens_map,
        "families": [],
        "tokenizers": {},
    }
    if document["special_tokens"] != SPECIALS:
        raise AssertionError(document["special_tokens"])
    with unittest.mock.patch.object(chat_template_utils, "datetime", _Clock):
        for name, template in FAMILIES.items():
            cases = [_rendered(plain, template, conversation) for conversation in CONVERSATIONS]
            document["families"].append({"name": name, "template": template, "cases": cases})
        for folder in folders:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            document["tokenizers"][folder.name] = [
                {
                    "messages": conversation,
                    "ids": tokenizer.apply_chat_template(
                        _as_messages(conversation), add_generation_prompt=True, return_dict=False
                    ),
                }
                for conversation in CONVERSATIONS[:4]
            ]
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
