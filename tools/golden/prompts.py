"""A hundred short prompts for the comparison of backends on SmolLM2, written for this project.

Facts, stories, instructions, code, numbers, lists, tables, other languages and scripts, and odd spacing: the variety
that a model is asked over time.
"""

FACTS = [
    "The capital of France is",
    "The capital of Japan is",
    "The largest planet in the solar system is",
    "Water boils at a temperature of",
    "The opposite of hot is",
    "A baby dog is called a",
    "The chemical symbol for gold is",
    "The Earth takes one year to travel around the",
    "Plants make their food by a process called",
    "The heart pumps blood through the",
    "Shakespeare wrote the play Romeo and",
    "The currency that people use in Japan is the",
    "There are seven days in a",
    "Bees live in a hive and make",
    "The colours of the French flag are blue, white and",
    "In the northern hemisphere the coldest season is",
    "A triangle has three sides and a square has",
    "The Pacific is the largest ocean, and the second largest is the",
    "Ice is the solid form of",
    "The language that most people in Brazil speak is",
]

PROSE = [
    "It was a dark night, and the wind howled through the",
    "She opened the old wooden box and found a",
    "The train was late again, so the passengers on the platform",
    "After the storm had passed, the village looked",
    "My grandmother always told me that the best way to learn is to",
    "He put the key into the lock, turned it slowly, and",
    "The key to the cabinets is on the",
    "The author talked to Sara about her",
    "When the music stopped, everybody in the hall began to",
    "The cat sat on the windowsill and watched the birds in the",
    "Nobody in the office knew why the lights had gone",
    "Once upon a time there was a small fox who lived in the",
    "The scientists were surprised to see that the mice had learned to",
    "If it rains tomorrow, we will have to cancel the",
    "He was so tired that he fell asleep on the",
    "The bread smelled wonderful because it had just come out of the",
    "They walked along the river until they reached the",
    "Although the exam was difficult, most of the students",
    "The museum is closed on Mondays, but visitors can still see the",
    "Between the two houses stood a tall old",
]

TEMPLATES = [
    "Then, {} and {} went to the station. {} gave a ticket to",
    "{} is older than {}, and {} is therefore not the",
    "{} asked {} for help with the homework, and {} said",
]
NAMES = [("Anna", "Paul", "Anna"), ("Maria", "Tom", "Tom"), ("Kenji", "Lucy", "Kenji")]
PEOPLE = [template.format(*names) for template in TEMPLATES for names in NAMES]

INSTRUCTIONS = [
    "Explain in one sentence what a computer program is:",
    "List three fruits: apples,",
    "Translate to Spanish: Good morning. Translation:",
    "Question: How many legs does a spider have? Answer:",
    "Question: What do we call frozen rain? Answer:",
    "Here is a recipe for pancakes. First, mix the flour with",
    "Dear Sir or Madam, I am writing to apply for the",
    "To change a tyre, first loosen the",
    "Step 1: Boil the water. Step 2: Add the pasta. Step 3:",
    "The following words are sorted by the alphabet: apple, banana, cherry,",
    "Summary: The article argues that cities should build more",
    "Review: The food was cold and the waiter was rude. Sentiment:",
    "Review: A wonderful film with great actors! Sentiment:",
]

CODE = [
    "def add(a, b):\n    return",
    "for i in range(10):\n    print(",
    "import numpy as",
    "int main() {\n    std::cout <<",
    "SELECT name, age FROM users WHERE",
    '{"name": "Alice", "age": 30, "city":',
    "<html>\n<head>\n<title>",
    "# Read a file line by line\nwith open(path) as",
    "const numbers = [1, 2, 3];\nconst doubled = numbers.map(",
    "if x > 0:\n    sign = 1\nelif x < 0:\n    sign =",
    "git commit -m",
    "class Stack:\n    def __init__(self):\n        self.items =",
]

NUMBERS = [
    "2 + 2 =",
    "1, 2, 3, 4, 5,",
    "2, 4, 6, 8, 10,",
    "12 times 3 equals",
    "The year after 1999 is",
    "The train leaves at 10:45 and arrives at 11:",
    "3.14159 is an approximation of",
    "A dozen eggs is 12 eggs, and two dozen is",
]

LANGUAGES = [
    "La capitale de la France est",
    "Der Hund liegt unter dem",
    "El gato está en la",
    "Il sole sorge a",
    "O rio passa pela",
    "東京は日本の",
    "北京是中国的",
    "Москва - столица",
]

SHAPES = [
    "To be, or not to",
    "Roses are red, violets are",
    "Ready, steady,",
    "Monday, Tuesday, Wednesday,",
    "- milk\n- eggs\n-",
    "| name | age |\n| --- | --- |\n| Ann |",
    "Thank you!  🙂  You are",
    "\n\nChapter 1\n\n",
    "WARNING: DO NOT TOUCH THE",
    "www.",
]

PROMPTS = FACTS + PROSE + PEOPLE + INSTRUCTIONS + CODE + NUMBERS + LANGUAGES + SHAPES
assert len(PROMPTS) == len(set(PROMPTS)) == 100, len(PROMPTS)
