package captures

import "strings"

// story is what the texts of captures are made of. Each word has ten letters at most.
var story = strings.Split(`the boats leave the harbour before the sun is up
two men carry a long rope along the wall and tie it to the ring
the keeper of the light writes the hour of every ship in a book
when the wind turns to the north the smaller boats stay at the pier
a bell on the rock tells the crew how far they are from the sand
in winter the ferry runs twice a day if the water is calm enough
the woman who sells the fish knows each family of the village
children watch how the nets are mended in the evening
no child may swim near the lock while the gate is open
the pilot comes on board at the mouth of the river and takes the wheel
after the storm we found a wooden chest under the old bridge
the map in the office shows the depth of the channel in metres
every morning the baker brings warm bread to the quay
a grey cat sleeps on the sacks of grain next to the scales
the engine must be cold before you open the valve at the side
they count the barrels twice and note the number on a slate
our neighbour paints his boat green and white in spring
if the fog is thick the horn sounds three times a minute
the teacher asks the class to draw the lighthouse from memory
rain fell all night and filled the buckets under the roof
the doctor lives on the island and visits the farms by bicycle
without a lamp it is hard to see the steps down to the water
salt makes the iron brown so the chain is oiled once a month
the captain reads the letter slowly and folds it again
four geese fly over the field and land behind the mill
before dinner the cook sends a boy to fetch apples and honey
strangers often ask which road leads over the mountain
the station is small but the train stops there on market days
a gardener plants beans in straight rows between the stones
at noon the workers rest in the shade of the big chestnut
the clock of the church is slow by a quarter of an hour
a lady left her yellow umbrella in the second carriage
snow covers the valley until the middle of april
the carpenter measures the door and cuts a thin piece from the edge
music comes from the open window of the house on the corner
an old path follows the stream through the forest to the spring`, "\n")

// fillers are words by their number of letters: they end a phrase that has to be so long.
var fillers = [][]string{
	{}, {"a"}, {"it", "on", "by"}, {"sea", "oar", "day"}, {"sand", "wind", "gull"}, {"light", "shore", "table"},
	{"window", "bridge", "garden"}, {"harbour", "morning", "village"}, {"mountain", "evenings", "sailboat"},
	{"carpenter", "fishermen", "gardeners"}, {"lighthouse", "watercress", "waterwheel"},
	{"countryside", "wheelbarrow", "horseradish"}, {"thunderstorm", "strawberries", "neighbouring"},
}

// prose is a stream of words.
type prose struct{ sentence, word, filler int }

// begin starts the next sentence.
func (p *prose) begin() {
	if p.word > 0 {
		p.sentence, p.word = p.sentence+1, 0
	}
}

func (p *prose) next() string {
	words := strings.Fields(story[p.sentence%len(story)])
	w := words[p.word]
	if p.word++; p.word == len(words) {
		p.sentence, p.word = p.sentence+1, 0
	}
	return w
}

// phrase is words of so many bytes together.
func (p *prose) phrase(size int) string {
	var b strings.Builder
	for left := size; left > 0; left = size - b.Len() {
		w := p.next()
		if len(w) >= left-2 && len(w) != left { // it would not fit, or leave place for one letter
			p.filler++
			w = fillers[left][p.filler%len(fillers[left])]
		}
		b.WriteString(w)
		if b.Len() < size {
			b.WriteByte(' ')
		}
	}
	return b.String()
}
